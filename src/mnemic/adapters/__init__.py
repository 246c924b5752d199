"""The technologies behind the ports. The engine never imports them."""
