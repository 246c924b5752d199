// Shows the description of this server, in the colours that the browser prefers. `validatorUrl: null` keeps it from a
// checker on another server.
const dark = matchMedia("(prefers-color-scheme: dark)");
const choose = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", choose);
choose();

// Adds what Swagger UI lacks for screen readers and keyboards: names, heading levels, and blocks that can be scrolled.
const ADDED = {
  textarea: { "aria-label": "Request body" },
  pre: { tabindex: "0" },
  ".opblock-tag, .models > h4": { "aria-level": "2" },
  ".opblock h4": { "aria-level": "3" },
  ".opblock h5": { "aria-level": "4" },
  ".information-container": { role: "region", "aria-label": "About" },
  ".scheme-container": { role: "region", "aria-label": "API key" },
};
new MutationObserver(() => {
  for (const [selector, attributes] of Object.entries(ADDED))
    for (const each of document.querySelectorAll(selector))
      for (const [name, value] of Object.entries(attributes)) if (each.getAttribute(name) !== value) each.setAttribute(name, value);
}).observe(document.getElementById("description"), { childList: true, subtree: true });

SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#description",
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  validatorUrl: null,
});
