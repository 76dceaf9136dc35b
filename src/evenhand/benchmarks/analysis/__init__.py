"""What several benchmarks compute alike: rates of groups, paired contrasts, likelihoods, plans of detectable rates."""
