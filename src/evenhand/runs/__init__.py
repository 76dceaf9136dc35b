"""The engine and the record: plan, requests, shards, resume, manifest, run directory."""
