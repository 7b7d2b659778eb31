// Where the site is served as <root>/<version>/, lists the versions in <root>/versions.json:
// [{"name": "0.1.0", "address": "0.1.0/"}, ...]. Elsewhere there is one version.
"use strict";

document.addEventListener("DOMContentLoaded", async () => {
  if (!location.protocol.startsWith("http")) return;
  const root = new URL("../", new URL(document.documentElement.dataset.content_root, location));
  const answer = await fetch(new URL("versions.json", root)).catch(() => null);
  if (!answer || !answer.ok) return;
  const list = document.getElementById("versions");
  for (const { name, address } of await answer.json()) {
    const link = document.createElement("a");
    link.href = new URL(address, root);
    link.textContent = name;
    const item = document.createElement("li");
    item.append(link);
    list.append(item);
  }
  list.hidden = false;
});
