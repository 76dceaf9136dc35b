"""What all that ask a service share: the client, its pace, the reading of answers, and the store that keeps them."""
