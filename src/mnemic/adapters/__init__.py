"""The technologies behind the ports; the engine never imports them."""
