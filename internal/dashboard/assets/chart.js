// A read-out over each chart: what a bar stands for, from the chart's table. The
// mouse chooses a bar, or the arrow keys while the picture has the focus. Without
// this script the bars have their titles, and the table is below.
for (const figure of document.querySelectorAll("figure.chart")) {
  const plot = figure.querySelector(".plot");
  const slots = [...figure.querySelectorAll("g.slot")];
  const heads = [...figure.querySelectorAll("thead th")].map((th) => th.textContent);
  const rows = [...figure.querySelectorAll("tbody tr")];
  if (!plot || !slots.length || rows.length !== slots.length) continue;

  const out = document.createElement("p");
  out.className = "readout";
  out.hidden = true;
  figure.append(out);
  let at = -1;

  const choose = (index) => {
    slots[at]?.classList.remove("chosen");
    at = index;
    slots[at]?.classList.add("chosen");
    out.hidden = at < 0;
    out.replaceChildren();
    if (at < 0) return;
    [...rows[at].cells].forEach((cell, i) => {
      if (i && cell.textContent === "–") return;
      const part = document.createElement("span");
      const value = document.createElement("strong");
      value.textContent = cell.textContent;
      part.append(i ? heads[i] + " " : "", value);
      out.append(part);
    });
    out.style.top = `${plot.offsetTop}px`;
    out.classList.toggle("before", at >= slots.length / 2); // beside the bar, not over it
  };

  slots.forEach((slot, index) => slot.addEventListener("pointerenter", () => choose(index)));
  plot.addEventListener("pointerleave", () => choose(-1));
  plot.addEventListener("blur", () => choose(-1));
  plot.addEventListener("focus", () => out.setAttribute("role", "status"), { once: true });
  plot.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    choose(Math.min(Math.max(at < 0 ? slots.length - 1 : at + step, 0), slots.length - 1));
  });
}
