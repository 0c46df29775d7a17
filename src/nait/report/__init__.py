"""What is shown to people: pictures of what the agent knows, and reports on results."""
