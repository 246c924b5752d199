// Shows the description of this server. `validatorUrl: null` keeps it from a checker on another server.
SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#description",
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  validatorUrl: null,
});
