"""The slice of Docker that cspace uses. Nothing above this package imports the Docker library."""
