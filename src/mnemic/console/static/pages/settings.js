// How the installation is, keys, and who did what.

import { get, post, remove, route } from "../api.js";
import { el, link, put, said } from "../dom.js";
import { fromField, moment } from "../format.js";
import { button, choices, confirm, dialog, empty, facts, field, fill, form, heading, notice, table } from "../parts.js";
import { caller, may, scope, setKey } from "../session.js";

const RIGHTS = ["read", "write", "admin"];

export function page({ signal, again }) {
  const sections = [
    el(
      "section",
      { "aria-label": "This console" },
      el("h2", {}, "This console"),
      facts([
        ["Server", `Mnemic ${caller.version}`],
        ["Org", said(caller.org)],
        [
          "Key",
          caller.has_key
            ? said(`${caller.key.name} ${caller.key.id}`)
            : "not required: the server only accepts requests from this machine",
        ],
        ["Rights", caller.rights.join(", ")],
        ["API", el("a", { href: "../docs" }, "REST API reference with examples")],
        ["Design", link("design", {}, "Colours, sizes and components")],
        [
          "Bound to",
          caller.is_bound
            ? said(
                ["user", "agent"]
                  .filter((part) => caller[part])
                  .map((part) => `${part} ${caller[part]}`)
                  .join(", "),
              )
            : null,
        ],
      ]),
    ),
  ];
  const doctor = el("section", { "aria-label": "Installation" });
  if (caller.is_operator) fill(doctor, async () => drawDoctor(await get("doctor", {}, { signal })), signal);
  else
    put(
      doctor,
      el("h2", {}, "Installation"),
      el("p", { class: "hint" }, "Only admin keys of the org “default” can see the state of the installation."),
    );
  sections.push(doctor);
  if (may("admin")) sections.push(keysSection(signal, again), auditSection(signal));
  else
    sections.push(
      el(
        "section",
        { "aria-label": "Keys" },
        el("h2", {}, "Keys"),
        el("p", { class: "hint" }, "Managing keys requires a key with the “admin” right."),
      ),
    );
  return [heading("Settings"), sections];
}

function drawDoctor(diagnosis) {
  const worst = ["broken", "degraded", "ok"].find((each) => diagnosis.findings.some(({ condition }) => condition === each));
  return [
    el("h2", {}, "Installation ", el("span", { class: `tag ${worst}` }, worst)),
    table(
      "Checks of the installation",
      ["part", "condition", "finding", "what to do"],
      diagnosis.findings.map((each) => [
        each.part,
        el("span", { class: `tag ${each.condition}` }, each.condition),
        said(each.message),
        said(each.remedy),
      ]),
    ),
  ];
}

function keysSection(signal, again) {
  const list = el("div", {});
  fill(list, async () => drawKeys(await get("keys", {}, { signal }), again), signal);
  return el(
    "section",
    { "aria-label": "Keys" },
    el(
      "div",
      { class: "heading" },
      el("h2", {}, "Keys"),
      button("New key", () => newKey(again), { right: "admin" }),
    ),
    list,
  );
}

function drawKeys(keys, again) {
  if (!keys.length)
    return empty(
      "There are no keys",
      "Without keys, the server only accepts requests from this machine, and every program on it has full access. Once a key exists, every request requires one.",
    );
  return table(
    "API keys of this org",
    ["name", "rights", "bound to", "created", "expires", ""],
    keys.map((each) => {
      const hasEnded = each.revoked_at || (each.expires_at && new Date(each.expires_at) <= new Date());
      return [
        [
          said(each.name || "—", { most: 80 }),
          " ",
          el("code", {}, each.id),
          each.id === caller.key?.id ? el("span", { class: "tag" }, "this key") : null,
        ],
        each.rights.join(", "),
        said(
          [each.user && `user ${each.user}`, each.agent && `agent ${each.agent}`].filter(Boolean).join(", ") ||
            "none",
        ),
        moment(each.created_at),
        each.revoked_at ? `revoked ${moment(each.revoked_at)}` : moment(each.expires_at),
        hasEnded
          ? null
          : el(
              "div",
              { class: "actions" },
              button("Rotate", () => rotate(each, again), {
                right: "admin",
                "aria-label": `Rotate ${each.name || each.id}`,
              }),
              button("Revoke…", () => revoke(each, again), {
                right: "admin",
                class: "danger",
                "aria-label": `Revoke ${each.name || each.id}`,
              }),
            ),
      ];
    }),
  );
}

function newKey(again) {
  const bound = Object.entries(scope()).filter(([part]) => part !== "session");
  dialog(
    "New key",
    (close) => [
      caller.has_key
        ? null
        : el(
            "p",
            { class: "banner" },
            "Once a key exists, every request requires one, including those of this console. Give the first key the “admin” right. Otherwise, you can only create keys on the command line.",
          ),
      form(
        "New key",
        [
          field("Name", "name", { required: true, maxlength: 100 }),
          choices("Rights (none includes another)", "rights", RIGHTS, caller.has_key ? ["read", "write"] : RIGHTS),
          field("Expires", "expires_at", { type: "datetime-local", hint: "default: never" }),
          bound.length
            ? field(`Only for ${bound.map(([part, value]) => `${part} ${value}`).join(" and ")}`, "is_bound", {
                type: "checkbox",
                checked: caller.has_key,
              })
            : null,
        ],
        "Create key",
        async (given) => {
          const body = { name: given.name, rights: given.rights };
          if (given.expires_at) body.expires_at = fromField(given.expires_at);
          const issued = await post("keys", body, { query: given.is_bound ? {} : { user: "", agent: "" } });
          close();
          tell(issued, again, !caller.has_key);
        },
      ),
    ],
    { close: "Cancel" },
  );
}

/** The token, told this once. */
function tell({ key, token }, again, isFirst) {
  const copied = el("span", { role: "status" });
  const shown = el("input", {
    type: "text",
    readOnly: true,
    value: token,
    class: "token",
    "aria-label": "The key",
    onfocus: (event) => event.target.select(),
  });
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(token);
      copied.textContent = "copied";
    } catch {
      shown.select();
      copied.textContent = "the key is selected; copy it with the keyboard";
    }
  };
  const use = () => {
    setKey(token);
    location.reload();
  };
  dialog(
    "Your new key",
    () => [
      el("p", {}, "Copy the key now. It will not be shown again. Name: ", said(key.name)),
      el("div", { class: "row" }, shown, button("Copy", copy), copied),
      isFirst ? button("Use it in the console", use) : null,
    ],
    { close: "I have copied it", closed: isFirst ? () => location.reload() : again },
  );
}

async function rotate(key, again) {
  dialog(
    `Rotate ${key.name || key.id}`,
    (close) =>
      form(
        "Rotate",
        [
          field("Seconds until the old key stops working", "overlap", {
            type: "number",
            min: 0,
            value: "3600",
            required: true,
          }),
        ],
        "Create new key",
        async ({ overlap }) => {
          const issued = await post(route`keys/${key.id}/rotate`, { overlap_s: Number(overlap) });
          close();
          tell(issued, again, false);
        },
      ),
    { close: "Cancel" },
  );
}

function revoke(key, again) {
  confirm(
    "Revoke this key now?",
    el(
      "p",
      {},
      said(key.name || key.id),
      key.id === caller.key?.id
        ? " is the key of this console. The console will ask for another one."
        : " will stop working immediately.",
    ),
    "Revoke key",
    async () => {
      await remove(route`keys/${key.id}`);
      notice("Revoked");
      if (key.id === caller.key?.id) {
        setKey(null);
        location.reload();
      } else again();
    },
  );
}

function auditSection(signal) {
  const list = el("div", {});
  const draw = async (before) => {
    const page = await get("audit", { before, limit: 50 }, { signal });
    if (!page.entries.length) return el("p", { class: "hint" }, "The audit log is empty.");
    return [
      table(
        "Who did what, newest first",
        ["time", "who", "action", "target", "outcome"],
        page.entries.map((each) => [
          moment(each.at),
          said(each.actor),
          said(each.verb),
          said(each.target, { most: 80 }),
          said(each.outcome),
        ]),
      ),
      page.next ? button("Earlier", () => fill(list, () => draw(page.next), signal)) : null,
    ];
  };
  return el(
    "section",
    { "aria-label": "Audit log" },
    el("h2", {}, "Audit log"),
    el(
      "details",
      {
        ontoggle: (event) => {
          if (event.target.open && !list.childElementCount) fill(list, () => draw(null), signal);
        },
      },
      el("summary", {}, "Show"),
      list,
    ),
  );
}
