// Columns are dragged to another role: what the select of the column says then, and a press of "Apply", say the same.
"use strict";
let dragged = null;
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
