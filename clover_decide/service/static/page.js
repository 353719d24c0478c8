"use strict";
const get = (id) => document.getElementById(id);
const made = (tag, text, holder) => {
  const node = document.createElement(tag);
  node.textContent = text;
  holder?.append(node);
  return node;
};
let packs = [];

async function call(path, body) {
  const headers = { "Content-Type": "application/json" };
  if (get("key").value) headers.Authorization = `Bearer ${get("key").value}`;
  const answer = await fetch(path, body ? { method: "POST", headers, body: JSON.stringify(body) } : { headers });
  const data = await answer.json();
  if (answer.ok) return data;
  const detail = data.detail;
  throw new Error(Array.isArray(detail) ? detail.map((d) => `${d.loc.slice(1).join(".")}: ${d.msg}`).join("; ") : detail.message);
}

async function load() {
  try {
    packs = (await call("/v1/packs")).packs;
    get("pack").replaceChildren(...packs.map((pack) => new Option(pack.title, pack.name)));
    choose();
    say("");
  } catch (error) {
    say(error.message, true);
  }
}

function choose() {
  get("material").value = packs.find((pack) => pack.name === get("pack").value)?.example.trim() ?? "";
}

function say(text, wrong = false) {
  get("state").textContent = text;
  get("state").className = wrong ? "error" : "";
}

const shown = (answer) => answer.label ?? (answer.value === true ? "yes" : answer.value === false ? "no" : String(answer.value));

function cell(row, answer) {
  const td = made("td", `${shown(answer)} `, row);
  const meter = made("meter", "", td);
  meter.value = answer.probability;
  made("small", answer.probability.toFixed(2), td);
  return td;
}

function show(decision, questions) {
  const body = get("answers").tBodies[0];
  body.replaceChildren();
  for (const [id, answer] of Object.entries(decision.answers)) {
    const row = body.insertRow();
    made("small", questions[id].text, made("td", id, row));
    cell(row, answer);
    const alone = cell(row, answer.independent);
    if (shown(answer) !== shown(answer.independent)) alone.className = "differs";
  }
  get("answers").tFoot.replaceChildren();
  const { passes, input_tokens, output_tokens } = decision.usage;
  const told = `all answers together ${decision.probability.toFixed(2)} · ${passes} passes, ${input_tokens}+${output_tokens} tokens, ${decision.timing.total.toFixed(2)} s`;
  made("td", told, get("answers").tFoot.insertRow()).colSpan = 3;
  get("answers").hidden = false;
  get("facts").querySelector("ol").replaceChildren(...decision.facts.map((fact) => made("li", fact.text)));
  get("facts").hidden = !decision.facts.length;
}

get("pack").addEventListener("change", choose);
get("key").addEventListener("change", () => packs.length || load());
get("form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const pack = packs.find((one) => one.name === get("pack").value);
  say("reading …");
  try {
    show(await call("/v1/decide", { material: get("material").value, pack: pack.name, independent: true }), pack.questions);
    say("");
  } catch (error) {
    say(error.message, true);
  }
});
load();
