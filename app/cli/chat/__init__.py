"""`deskmate chat`: a terminal client of the Agent API. It uses no other part of the service."""
