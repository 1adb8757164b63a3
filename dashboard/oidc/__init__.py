"""Sign-in with an OpenID provider: the code flow with PKCE, before any page is drawn."""
