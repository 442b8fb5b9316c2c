"""R2: buckets and their lifecycle here, objects in the data plane."""
