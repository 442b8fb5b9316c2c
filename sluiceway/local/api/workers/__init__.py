"""Workers: scripts, worker versions, deployments, secrets, routes, domains, schedules."""
