// What pages can do better with a script. Without it everything works.

/** The texts of this script in the page's language. */
const texts = document.querySelector("script[data-copy]").dataset;

/** The reader's own locale of the page's language: `en-GB` on an English page. */
function localeOfPage() {
  const language = document.documentElement.lang;
  const [first] = language.split("-");
  return navigator.languages.find((of) => of.split("-")[0] === first) ?? language;
}

const zone = new Intl.DateTimeFormat(localeOfPage(), { dateStyle: "medium", timeStyle: "short" });

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
    button.textContent = texts.copy;
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(block.querySelector("code").textContent);
        button.textContent = texts.copied;
      } catch {
        button.textContent = texts.select;
        getSelection().selectAllChildren(block.querySelector("code"));
      }
      setTimeout(() => { button.textContent = texts.copy; }, 2000);
    });
    block.append(button);
  }
}

/** Parts of a page that the console sends again when they change. A page that nobody sees has no connection. */
function keepLive(part) {
  let source, waiting, wait = 5000;
  const lost = document.createElement("p");
  lost.className = "notice warn";
  lost.role = "status";
  lost.textContent = texts.lost;
  const show = (html) => {
    part.innerHTML = html;
    enhance(part);
  };
  let held;
  // What somebody is at is replaced when they have left it.
  part.addEventListener("focusout", (event) => {
    if (held === undefined || part.contains(event.relatedTarget)) return;
    show(held);
    held = undefined;
  });
  const close = () => {
    clearTimeout(waiting);
    source?.close();
    source = undefined;
  };
  const open = () => {
    close();
    source = new EventSource(part.dataset.live);
    source.onopen = () => { wait = 5000; lost.remove(); };
    source.onmessage = (event) => {
      if (part.contains(document.activeElement)) held = event.data; else show(event.data);
    };
    source.onerror = () => {
      part.before(lost);
      if (source.readyState !== EventSource.CLOSED) return;
      // The console has refused: the browser does not try again by itself.
      waiting = setTimeout(open, wait);
      wait = Math.min(wait * 2, 60000);
    };
  };
  document.addEventListener("visibilitychange", () => { if (document.hidden) close(); else open(); });
  // A page that is kept for going back to keeps no connection.
  addEventListener("pagehide", close);
  addEventListener("pageshow", (event) => { if (event.persisted) open(); });
  if (!document.hidden) open();
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
