"""Floor 3: rules and approvals, and the decisions they make."""
