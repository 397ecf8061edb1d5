"""What rules are made of: what they may know, and operations on plans that several of them use."""
