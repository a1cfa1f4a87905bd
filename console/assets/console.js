// What pages can do better with a script. Without it everything works.

const zone = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

/** Moments in the reader's zone; UTC stays at hand. */
function showMoments(root) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    const at = new Date(time.dateTime);
    if (time.title || Number.isNaN(at.getTime())) continue;
    time.title = time.textContent;
    time.textContent = zone.format(at);
  }
}

/** A button that copies, at every text that is there to be copied. */
function showCopies(root) {
  for (const block of root.querySelectorAll("[data-copy]")) {
    if (!navigator.clipboard || block.querySelector(".copy")) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "button copy";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(block.querySelector("code").textContent);
        button.textContent = "Copied";
      } catch {
        button.textContent = "Select it";
        getSelection().selectAllChildren(block.querySelector("code"));
      }
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
    block.append(button);
  }
}

/** Parts of a page that are fetched anew while they are seen. One request at a time; a console that is away is asked less often. */
function keepLive(part) {
  const every = Math.max(1, Number(part.dataset.every) || 5) * 1000;
  let wait = every;
  const next = () => setTimeout(look, wait);
  const look = async () => {
    if (!part.isConnected) return;
    if (document.hidden || part.contains(document.activeElement)) { next(); return; }
    try {
      const answer = await fetch(part.dataset.live, { headers: { accept: "text/html" }, redirect: "error" });
      if (answer.ok) {
        part.innerHTML = await answer.text();
        enhance(part);
        wait = every;
      } else {
        wait = Math.min(wait * 2, 60000);
      }
    } catch {
      wait = Math.min(wait * 2, 60000);
    }
    next();
  };
  next();
}

/** Filters that apply as soon as one is chosen. */
function applyFilters(root) {
  for (const form of root.querySelectorAll("form[data-apply]")) {
    form.addEventListener("change", (event) => {
      if (event.target instanceof HTMLSelectElement) form.requestSubmit();
    });
  }
}

/** A form is sent once, however often its button is pressed. */
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "post") return;
  if (form.dataset.sent) { event.preventDefault(); return; }
  form.dataset.sent = "yes";
});
addEventListener("pageshow", () => {
  for (const form of document.forms) delete form.dataset.sent;
});

/** Paths of this console that are to be given to others, with its address. */
function showAddresses(root) {
  for (const code of root.querySelectorAll("code[data-address]")) {
    code.textContent = new URL(code.textContent, location.origin).href;
    code.removeAttribute("data-address");
  }
}

function enhance(root) {
  showAddresses(root);
  showMoments(root);
  showCopies(root);
  applyFilters(root);
}

enhance(document);
for (const part of document.querySelectorAll("[data-live]")) keepLive(part);
document.querySelector("[data-focus]")?.focus();
