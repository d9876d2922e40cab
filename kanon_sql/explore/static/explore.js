// Columns are dragged to another role: what the select of the column says then, and a press of "Apply", say the same.
"use strict";
let dragged = null;
// What an earlier press of "Publish" came to does not stand beside a later one; and no answer is an answer too.
document.addEventListener("htmx:beforeRequest", (event) => {
  if (event.detail.target && event.detail.target.id === "outcome") event.detail.target.textContent = "";
});
for (const name of ["htmx:responseError", "htmx:sendError"]) {
  document.addEventListener(name, (event) => {
    const target = event.detail.target;
    if (!target) return;
    const published = target.id === "outcome" ? " It is not known whether anything was published." : "";
    const said = document.createElement("p");
    said.className = "problem";
    said.setAttribute("role", "alert");
    said.textContent = `kanon explore did not answer: look at the terminal that it was started in.${published}`;
    target.replaceChildren(said);
  });
}
const groupAt = (event) => (event.target instanceof Element ? event.target.closest("[data-role]") : null);
document.addEventListener("dragstart", (event) => {
  dragged = event.target instanceof Element ? event.target.closest("[data-column]") : null;
  if (dragged) event.dataTransfer.effectAllowed = "move";
});
document.addEventListener("dragend", () => {
  dragged = null;
  document.querySelectorAll(".over").forEach((group) => group.classList.remove("over"));
});
document.addEventListener("dragover", (event) => {
  const group = groupAt(event);
  document.querySelectorAll(".over").forEach((other) => other.classList.toggle("over", other === group));
  if (!dragged || !group) return;
  group.classList.add("over");
  event.preventDefault();
});
document.addEventListener("drop", (event) => {
  const group = groupAt(event);
  if (!dragged || !group) return;
  event.preventDefault();
  const select = dragged.querySelector("select");
  select.value = group.dataset.role;
  select.form.requestSubmit();
});
