// The interactive views of the networks: one state (the form) drives the brain and the matrix.
(() => {
"use strict";

const NAMED = 12;      // edges: the brain names the regions of this many, the surest first
const SYMBOLS = 40;    // edges: with more, the symbols would hide the lines
const HOVERED = 250;   // regions: with more, empty cells of the matrix do not show names
const BINS = 3;        // number of line widths: a trace has only one width
const WIDTHS = [2, 3.5, 6];
const HEADS = [3.5, 5];  // mm: length of the head at weight 0, and how much the largest weight adds
const GAP = 2;         // mm between an arrow's tip and the centre of its region
const NAME_PX = 11;    // pixels: a row of the matrix with less height has no room for its name
const NARROW = 420;    // pixels: below this width the legend has two columns
const LOBE_PX = 13;    // pixels that the name of a lobe needs along an axis
const LONGEST = 24;    // characters of a name along an axis
const FAINT = 0.35;    // share of the full colour that the smallest weight has
const CAMERAS = {
  left: {eye: {x: -1.5, y: 0, z: 0.1}, up: {x: 0, y: 0, z: 1}},
  right: {eye: {x: 1.5, y: 0, z: 0.1}, up: {x: 0, y: 0, z: 1}},
  top: {eye: {x: 0, y: 0, z: 1.5}, up: {x: 0, y: 1, z: 0}},
  front: {eye: {x: 0, y: 1.5, z: 0.1}, up: {x: 0, y: 0, z: 1}},
};
const START = {eye: {x: -1.05, y: 0.75, z: 0.8}, up: {x: 0, y: 0, z: 1}};

const element = (id) => document.getElementById(id);
if (!element("network-data")) return;
const data = JSON.parse(element("network-data").textContent);
const nodes = data.nodes, m = nodes.name.length;
// Plotly reads tags and entities in texts
const escaped = (text) => String(text)
  .replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
const names = nodes.name.map(escaped);
function signed(value) {
  if (value === null || value === undefined) return "none";
  const size = Math.abs(value).toFixed(2);
  return (Number(size) === 0 ? "" : value > 0 ? "+" : "\u2212") + size;
}
const percent = (share) => share === null || share === undefined ? "unknown" : Math.round(100 * share) + " %";

// ---------- the networks that a reader can choose, and their edges

// The look of a line depends on the sign of a weight, or on the kind of a change. It also has a dash and a symbol.
const SIGNS = [
  {name: "positive weight", variable: "positive", dash: "solid", symbol: "+"},
  {name: "negative weight", variable: "negative", dash: "solid", symbol: "\u2212"},
];
const colourOf = (one, look) => one.variable ? look[one.variable] : look.dark ? one.dark : one.colour;

const lookups = data.networks.map((network) => {
  const found = new Map();
  network.source.forEach((source, k) => found.set(source * m + network.target[k], k));
  return found;
});

function groupEdges(group) {
  const network = data.networks[group];
  return {
    source: network.source, target: network.target, kind: network.kind,
    value: network.weight, confidence: network.adjacent,
    total: network.source.length, keep: () => true, looks: SIGNS, look: (k) => network.weight[k] < 0 ? 1 : 0,
    surest: (a, b) => (network.adjacent ? network.adjacent[b] - network.adjacent[a] : 0)
      || Math.abs(network.weight[b]) - Math.abs(network.weight[a]),
    text: (k) => arrowText(network, k) + data.groups.map((name, other) =>
      "<br>weight in " + escaped(name) + ": " + weightIn(other, network.source[k], network.target[k])
    ).join("") + "<br>direction: " + escaped(data.kinds[network.kind[k]].name) + groupConfidence(network, k),
  };
}

function differenceEdges(other, which) {
  const found = data.differences;
  const small = (q) => q !== null && q <= data.level;
  const keep = {
    all: () => true,
    both: (k) => small(found.q_both[k]),
    one: (k) => small(found.q[k]) && !small(found.q_both[k]),
  }[which];
  let total = 0;
  for (let k = 0; k < found.source.length; k++) total += keep(k);
  return {
    source: found.source, target: found.target, kind: found.kind,
    value: found.changes[other - 1], confidence: surer(found.adjacent), total, keep,
    looks: data.changes, look: (k) => found.change[other - 1][k],
    surest: (a, b) => found.q_both[a] - found.q_both[b] || found.q[a] - found.q[b]
      || Math.abs(found.changes[other - 1][b]) - Math.abs(found.changes[other - 1][a]),
    text: (k) => arrowText(found, k)
      + "<br>" + data.changes[found.change[other - 1][k]].name + ": change " + signed(found.changes[other - 1][k])
      + data.groups.map((name, g) => "<br>weight in " + escaped(name) + ": " + signed(found.weights[g][k])
        + (found.adjacent[g] ? " (joined in " + percent(found.adjacent[g][k]) + " of half samples)" : "")).join("")
      + "<br>false discovery rate q: " + found.q[k] + ", both ways: " + found.q_both[k]
      + "<br>family-wise p: " + found.p_fwer[k]
      + (data.groups.length > 2 ? "<br>(of any difference between the groups)" : "")
      + "<br>direction: " + escaped(data.kinds[found.kind[k]].name),
  };
}

function arrowText(edges, k) {
  const s = edges.source[k], t = edges.target[k];
  const lobe = (node) => escaped(data.lobes[nodes.lobe[node]].name);
  const way = data.kinds[edges.kind[k]].arrow ? " \u2192 " : " \u2013 ";
  return "<b>" + names[s] + way + names[t] + "</b>" + (data.has_lobes ? "<br>" + lobe(s) + way + lobe(t) : "");
}

function weightIn(group, source, target) {
  const weights = data.networks[group].weight;
  const there = lookups[group].get(source * m + target), back = lookups[group].get(target * m + source);
  if (there !== undefined) return signed(weights[there]);
  return back === undefined ? "no edge" : signed(weights[back]) + ", the other way round";
}

function groupConfidence(network, k) {
  if (!network.adjacent) return "";
  return "<br>joined in " + percent(network.adjacent[k]) + " of half samples"
    + (network.adjacent[k] ? ", this way in " + percent(network.this_way[k]) + " of these" : "");
}

function surer(columns) {
  if (columns.some((column) => !column)) return null;
  return columns[0].map((_, k) => Math.max(...columns.map((column) => column[k])));
}

const choices = data.groups.map((name, group) => ({
  label: "Network of " + name, unit: "weight per sd", none: "This network has no edge.", edges: groupEdges(group),
}));
if (data.differences) {
  const which = data.groups.length > 2 ? "any difference: q of all groups" : "q";
  const kinds = [
    ["Differences that hold both ways: ", "both", "No difference holds both ways: there is no edge to show."],
    ["All tested differences: ", "all", "No edge was tested."],
    ["Differences one way only, which may be changes of variance: ", "one", "No difference holds one way only: there is no edge to show."],
  ];
  for (const [title, kind, none] of kinds) {
    data.groups.slice(1).forEach((name, k) => choices.push({
      label: title + name + " against " + data.groups[0] + (kind === "all" ? "" : " (" + which + " \u2264 " + data.level + ")"),
      unit: "change per sd", edges: differenceEdges(k + 1, kind), none,
    }));
  }
}

// ---------- the form

const control = (name) => element("networks-" + name);

function addOption(select, value, label) {
  const option = document.createElement("option");
  option.value = value;
  option.textContent = label;
  select.append(option);
}

function fillForm() {
  for (const name of ["from-field", "to-field", "by-lobe"]) control(name).hidden = !data.has_lobes;
  choices.forEach((choice, k) => addOption(control("what"), k, choice.label + " \u2013 " + edgeCount(choice.edges.total)));
  data.lobes.forEach((lobe, k) => {
    addOption(control("from"), k, lobe.name);
    addOption(control("to"), k, lobe.name);
  });
  nodes.name.forEach((name) => addOption(control("regions"), name, name));
  data.kinds.forEach((kind, k) => {
    const label = document.createElement("label"), box = document.createElement("input");
    Object.assign(box, {type: "checkbox", value: k, checked: true, defaultChecked: true, name: "kind", autocomplete: "off"});
    label.append(box, kind.name + (kind.arrow ? " (arrow)" : " (line)"));
    control("kinds").append(label);
  });
}

const edgeCount = (count) => count + (count === 1 ? " edge" : " edges");

function fitControls() {
  const edges = choices[control("what").value].edges, slider = control("weight"), only = control("only");
  slider.max = Math.max(0.01, Math.floor(largest(edges) * 100) / 100);
  slider.value = 0;
  control("confidence").disabled = !edges.confidence;
  only.replaceChildren();
  addOption(only, "", edges.looks === SIGNS ? "both signs" : "all kinds of change");
  edges.looks.forEach((one, k) => addOption(only, k, one.symbol + " " + one.name));
}

function readState() {
  const lobe = (name) => control(name).value === "" ? -1 : Number(control(name).value);
  const state = {
    choice: choices[control("what").value],
    least: Number(control("weight").value),
    confidence: control("confidence").disabled ? 0 : Number(control("confidence").value) / 100,
    from: lobe("from"), to: lobe("to"), only: lobe("only"), most: Number(control("most").value),
    kinds: data.kinds.map((_, k) => control("kinds").querySelector('input[value="' + k + '"]').checked),
    regions: chosenRegions(control("region").value.trim()),
  };
  control("weight-value").textContent = state.least.toFixed(2);
  control("confidence-value").textContent = control("confidence").disabled
    ? "(not computed)" : Math.round(100 * state.confidence) + " %";
  return state;
}

// Return null for all regions. Otherwise mark the region of that name, or all regions whose names contain the text.
function chosenRegions(text) {
  if (!text) return null;
  const exact = nodes.name.indexOf(text), part = text.toLowerCase();
  return exact >= 0 ? nodes.name.map((_, k) => k === exact)
    : nodes.name.map((name) => name.toLowerCase().includes(part));
}

function shownEdges(state) {
  const edges = state.choice.edges, shown = [];
  for (let k = 0; k < edges.source.length; k++) {
    const s = edges.source[k], t = edges.target[k], value = edges.value[k];
    if (edges.keep(k) && Math.abs(value) >= state.least && (state.only < 0 || edges.look(k) === state.only)
        && (!state.confidence || edges.confidence[k] >= state.confidence - 1e-9)
        && (state.from < 0 || nodes.lobe[s] === state.from) && (state.to < 0 || nodes.lobe[t] === state.to)
        && state.kinds[edges.kind[k]] && (!state.regions || state.regions[s] || state.regions[t])) {
      shown.push(k);
    }
  }
  shown.sort(edges.surest);
  return {passed: shown.length, shown: shown.slice(0, state.most || shown.length).map((k) => ({
    s: edges.source[k], t: edges.target[k], value: edges.value[k], look: edges.look(k),
    arrow: data.kinds[edges.kind[k]].arrow, text: edges.text(k),
  }))};
}

function announce(state, shown, passed) {
  const {edges, none} = state.choice;
  let text = edges.total ? shown.length + " of " + edgeCount(edges.total) + " shown" + (passed > shown.length ? ", the surest." : ".") : none;
  if (state.regions && !state.regions.includes(true)) text += " No region has this in its name.";
  const nowhere = shown.filter((edge) => !placed(edge.s) || !placed(edge.t)).length;
  if (nowhere && views.brain) text += " " + nowhere + " in the matrix only: their regions have no coordinates.";
  control("count").textContent = text;
}

// ---------- colours of the theme

function theme() {
  const probe = document.createElement("span");
  document.body.append(probe);
  const colour = (name) => {
    probe.style.color = "var(--" + name + ")";
    return getComputedStyle(probe).color;
  };
  const found = {dark: document.documentElement.dataset.theme === "dark", font: {family: getComputedStyle(document.body).fontFamily, size: 12, color: colour("ink")}};
  for (const name of ["ink", "paper", "muted", "line", "panel", "positive", "negative"]) found[name] = colour(name);
  probe.remove();
  return found;
}

function mixed(colour, other, share) {
  const read = (text) => text.match(/[\d.]+/g).slice(0, 3).map(Number);
  const a = read(colour), b = read(other);
  return "rgb(" + a.map((part, k) => Math.round(share * part + (1 - share) * b[k])).join(",") + ")";
}

// ---------- the brain

const placed = (node) => nodes.x[node] !== null;

function brainTraces(state, shown, look) {
  const limit = largest(state.choice.edges), drawn = shown.filter((edge) => placed(edge.s) && placed(edge.t));
  const looks = state.choice.edges.looks;
  return [...hemispheres(look), ...lines(drawn, looks, limit, look), ...heads(drawn, looks, limit, look),
    ...symbols(drawn, looks, look), ...regionTraces(drawn, look), ...legendLines(looks, look)];
}

function largest(edges) {
  let limit = 0;
  for (let k = 0; k < edges.value.length; k++) if (edges.keep(k)) limit = Math.max(limit, Math.abs(edges.value[k]));
  return limit || 1;
}

const hemispheres = (look) => data.mesh.map((half) => ({
  type: "mesh3d", ...half, color: look.muted, opacity: 0.06, hoverinfo: "skip", showlegend: false,
  lighting: {ambient: 0.75, diffuse: 0.5, specular: 0.05}, flatshading: false,
}));

// Return a function `at` from a distance in mm to a point of the edge, the length of its `line`, and the tip and vector
// of the head of the arrow.
function arrow(edge, limit) {
  const from = ["x", "y", "z"].map((axis) => nodes[axis][edge.s]);
  const way = ["x", "y", "z"].map((axis, k) => nodes[axis][edge.t] - from[k]);
  const length = Math.hypot(...way) || 1;
  const head = Math.min(HEADS[0] + HEADS[1] * Math.abs(edge.value) / limit, length / 2);
  const at = (distance) => from.map((place, k) => place + way[k] * distance / length);
  return {at, line: edge.arrow ? length - GAP - 0.8 * head : length, tip: at(length - GAP), vector: way.map((part) => part * head / length)};
}

// Return the points of an edge's line, with a gap after it.
const linePoints = ({at, line}) => [at(0), at(line / 2), at(line), [null, null, null]];

function lines(drawn, looks, limit, look) {
  const traces = [];
  for (let code = 0; code < looks.length; code++) for (const isArrow of [true, false]) for (let bin = 0; bin < BINS; bin++) {
    const own = drawn.filter((edge) => edge.look === code && edge.arrow === isArrow
      && Math.min(BINS - 1, Math.floor(BINS * Math.abs(edge.value) / limit)) === bin);
    if (!own.length) continue;
    const trace = {type: "scatter3d", mode: "lines", x: [], y: [], z: [], hovertext: [], hoverinfo: "text", showlegend: false,
      meta: isArrow ? "arrows" : "lines", line: {color: colourOf(looks[code], look), dash: looks[code].dash, width: WIDTHS[bin]}};
    for (const edge of own) {
      for (const point of linePoints(arrow(edge, limit))) {
        ["x", "y", "z"].forEach((axis, k) => trace[axis].push(point[k]));
        trace.hovertext.push(edge.text);
      }
    }
    traces.push(trace);
  }
  return traces;
}

function heads(drawn, looks, limit, look) {
  return looks.flatMap((one, code) => {
    const own = drawn.filter((edge) => edge.arrow && edge.look === code);
    if (!own.length) return [];
    const colour = colourOf(one, look);
    const trace = {type: "cone", anchor: "tip", sizemode: "raw", sizeref: 1, showscale: false, showlegend: false, meta: "heads",
      colorscale: [[0, colour], [1, colour]], hoverinfo: "text", text: own.map((edge) => edge.text),
      lighting: {ambient: 0.85, diffuse: 0.3, specular: 0}};
    const arrows = own.map((edge) => arrow(edge, limit));
    ["x", "y", "z"].forEach((axis, k) => { trace[axis] = arrows.map((one) => one.tip[k]); });
    ["u", "v", "w"].forEach((axis, k) => { trace[axis] = arrows.map((one) => one.vector[k]); });
    return [trace];
  });
}

// The symbol of a change is in the middle of its line, for readers who cannot tell the colours apart.
function symbols(drawn, looks, look) {
  if (looks === SIGNS || drawn.length > SYMBOLS) return [];
  const at = (axis) => drawn.map((edge) => (nodes[axis][edge.s] + nodes[axis][edge.t]) / 2);
  return [{type: "scatter3d", mode: "text", x: at("x"), y: at("y"), z: at("z"), meta: "symbols", hoverinfo: "text", showlegend: false,
    text: drawn.map((edge) => looks[edge.look].symbol), hovertext: drawn.map((edge) => edge.text),
    textfont: {size: 16, color: drawn.map((edge) => colourOf(looks[edge.look], look))}}];
}

function regionTraces(drawn, look) {
  const named = new Set(drawn.slice(0, NAMED).flatMap((edge) => [edge.s, edge.t]));
  const degree = new Uint16Array(m);
  for (const edge of drawn) { degree[edge.s]++; degree[edge.t]++; }
  return data.lobes.flatMap((lobe, number) => {
    const own = nodes.name.map((_, k) => k).filter((k) => nodes.lobe[k] === number && placed(k));
    if (!own.length) return [];
    return [{type: "scatter3d", mode: "markers+text", textposition: "top center", textfont: {size: 10, color: look.ink},
      text: own.map((k) => named.has(k) ? names[k] : ""), name: escaped(lobe.name), meta: "regions",
      x: own.map((k) => nodes.x[k]), y: own.map((k) => nodes.y[k]), z: own.map((k) => nodes.z[k]),
      hoverinfo: "text", hovertext: own.map((k) => "<b>" + names[k] + "</b><br>" + escaped(lobe.name) + "<br>" + edgeCount(degree[k]) + " shown"),
      marker: {opacity: 1, color: lobe.colour, symbol: lobe.symbol, size: own.map((k) => degree[k] ? 7 : 4), line: {color: look.ink, width: 1}}}];
  });
}

function legendLines(looks, look) {
  const entry = (name, color, dash) => ({type: "scatter3d", mode: "lines", name, x: [null], y: [null], z: [null],
    line: {color, dash: dash || "solid", width: 2}, hoverinfo: "skip", meta: "legend"});
  return [...looks.map((one) => entry(one.symbol + " " + one.name, colourOf(one, look), one.dash)),
    ...data.kinds.map((kind) => entry((kind.arrow ? "\u2192 arrow: " : "\u2013 line: ") + escaped(kind.name), look.ink))];
}

function brainLayout(look) {
  const axis = {visible: false, showspikes: false};
  return {
    margin: {l: 0, r: 0, t: 0, b: 0}, font: look.font, paper_bgcolor: "rgba(0,0,0,0)",
    scene: {xaxis: axis, yaxis: axis, zaxis: axis, aspectmode: "data", dragmode: "orbit", camera: views.camera},
    legend: {orientation: "h", y: 0, yanchor: "top", itemclick: false, itemdoubleclick: false, itemsizing: "constant", font: {size: 11}, ...legendColumns()},
    ...labels(look),
  };
}

const labels = (look) => ({
  hoverlabel: {bgcolor: look.panel, bordercolor: look.ink, font: look.font, align: "left"},
  modebar: {bgcolor: "rgba(0,0,0,0)", color: look.muted, activecolor: look.ink},
});

// Two columns on a narrow page, otherwise as many as fit
function legendColumns() {
  return element("network-brain").clientWidth < NARROW ? {entrywidth: 0.5, entrywidthmode: "fraction"} : {};
}

// ---------- the matrix

// Regions are grouped by lobe, with the lobes in the order of their list.
const order = nodes.name.map((_, k) => k).sort((a, b) => nodes.lobe[a] - nodes.lobe[b] || a - b);
const rank = new Int32Array(m);
order.forEach((node, k) => { rank[node] = k; });
const blocks = data.lobes.map((lobe, number) => {
  const own = order.filter((node) => nodes.lobe[node] === number);
  return {name: escaped(lobe.name), first: rank[own[0]], size: own.length};
});

function matrixTrace(state, shown, look) {
  const {edges, unit} = state.choice, isChange = edges.looks !== SIGNS, hovered = m <= HOVERED;
  const empty = (s, t) => hovered && s !== t ? names[s] + " \u2192 " + names[t] + "<br>no edge is shown" : "";
  const z = order.map(() => new Array(m).fill(null)), symbol = order.map(() => new Array(m).fill(""));
  const text = order.map((s) => order.map((t) => empty(s, t)));
  for (const edge of shown) {
    z[rank[edge.s]][rank[edge.t]] = isChange ? edge.look : edge.value;
    text[rank[edge.s]][rank[edge.t]] = edge.text;
    if (isChange) symbol[rank[edge.s]][rank[edge.t]] = edges.looks[edge.look].symbol;
  }
  return {
    type: "heatmap", z, hovertext: text, hoverinfo: "text", hoverongaps: hovered, xgap: m > 100 ? 0 : 0.5, ygap: m > 100 ? 0 : 0.5,
    ...(isChange ? changeScale(edges.looks, symbol, look) : weightScale(edges, unit, look)),
  };
}

const colourBar = (more) => ({orientation: "h", y: 1.01, yanchor: "bottom", thickness: 8, lenmode: "pixels", outlinewidth: 0, ...more});

function weightScale(edges, unit, look) {
  const limit = largest(edges), faint = (colour) => mixed(colour, look.paper, FAINT);
  return {
    zmin: -limit, zmax: limit,
    colorscale: [[0, look.negative], [0.4999, faint(look.negative)], [0.5001, faint(look.positive)], [1, look.positive]],
    colorbar: colourBar({title: {text: unit, side: "top"}, len: Math.max(120, 0.8 * matrixSide()), nticks: 7, tickformat: "+.2~f"}),
  };
}

// One colour for each kind of change, with its symbol if a cell has room for it
function changeScale(looks, symbol, look) {
  const steps = looks.flatMap((one, k) => [[k / looks.length, colourOf(one, look)], [(k + 1) / looks.length, colourOf(one, look)]]);
  return {
    zmin: -0.5, zmax: looks.length - 0.5, colorscale: steps,
    ...(matrixSide() / m >= NAME_PX ? {text: symbol, texttemplate: "%{text}", textfont: {color: look.paper, size: 10}} : {}),
    colorbar: colourBar({title: {text: "kind of change", side: "top"}, len: Math.max(200, matrixSide()), tickfont: {size: 10},
      tickmode: "array", tickvals: looks.map((_, k) => k), ticktext: looks.map((one) => one.symbol + " " + one.name)}),
  };
}

// Names of regions if there is room for them, otherwise names of lobes
function ticks(range, pixels) {
  const low = Math.max(0, Math.ceil(Math.min(...range))), high = Math.min(m - 1, Math.floor(Math.max(...range)));
  const shorter = (node) => nodes.name[node].length > LONGEST
    ? escaped(nodes.name[node].slice(0, LONGEST - 1)) + "\u2026" : names[node];
  if (pixels / (high - low + 1) >= NAME_PX) {
    const places = order.map((_, k) => k).slice(low, high + 1);
    return {tickvals: places, ticktext: places.map((k) => shorter(order[k]))};
  }
  if (!data.has_lobes) return {tickvals: [], ticktext: []};
  const room = LOBE_PX * Math.abs(range[1] - range[0]) / pixels;
  let last = -Infinity;
  const roomy = blocks.filter((block) => {
    const middle = block.first + (block.size - 1) / 2, fits = middle - last >= room;
    if (fits) last = middle;
    return fits;
  });
  return {tickvals: roomy.map((block) => block.first + (block.size - 1) / 2), ticktext: roomy.map((block) => block.name)};
}

function separators(look) {
  if (!data.has_lobes) return [];
  const line = (place, way) => ({type: "line", layer: "above", line: {color: look.line, width: 1},
    ...(way === "x" ? {x0: place, x1: place, y0: -0.5, y1: m - 0.5} : {y0: place, y1: place, x0: -0.5, x1: m - 0.5})});
  const places = [...blocks.map((block) => block.first - 0.5), m - 0.5];
  return places.flatMap((place) => [line(place, "x"), line(place, "y")]);
}

function matrixLayout(look, ranges) {
  const side = matrixSide();
  const axis = (range) => ({range: [...range], ...ticks(range, side), tickmode: "array",
    tickfont: {size: 10}, showgrid: false, zeroline: false, showline: false, ticks: "", automargin: true, constrain: "domain"});
  return {
    margin: {l: 20, r: 10, t: 10, b: 20}, font: look.font, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: look.paper,
    xaxis: {...axis(ranges.x), side: "bottom", tickangle: -90}, yaxis: {...axis(ranges.y), scaleanchor: "x", constraintoward: "top"},
    annotations: [{text: "from \u2193 to \u2192", xref: "x domain", yref: "y domain", x: 0, y: 1, xanchor: "right", yanchor: "bottom",
      showarrow: false, font: {size: 11, color: look.muted}}],
    shapes: separators(look), dragmode: "zoom", hovermode: "closest",
    ...labels(look),
  };
}

function matrixSide() {
  const plot = element("network-matrix"), size = plot._fullLayout && plot._fullLayout._size;
  return size ? Math.min(size.w, size.h) : 0.65 * Math.min(plot.clientWidth, plot.clientHeight);
}

// ---------- drawing

const WHOLE = {x: [-0.5, m - 0.5], y: [m - 0.5, -0.5]};
const views = {brain: false, ranges: WHOLE, camera: START};

const config = (filename, format) => ({
  // By default Plotly offers to send the chart to its own server.
  showSendToCloud: false, plotlyServerURL: "",
  responsive: true, displaylogo: false, scrollZoom: false, typesetMath: false, toImageButtonOptions: {filename, format},
  modeBarButtonsToRemove: ["hoverClosest3d", "hoverClosestCartesian", "hoverCompareCartesian", "toggleSpikelines", "tableRotation", "resetCameraLastSave3d"],
});

function draw() {
  const state = readState(), {shown, passed} = shownEdges(state), look = theme();
  announce(state, shown, passed);
  const brain = views.brain
    && Plotly.react("network-brain", brainTraces(state, shown, look), brainLayout(look), config("network-brain", "png"));
  const matrix = Plotly.react("network-matrix", [matrixTrace(state, shown, look)], matrixLayout(look, views.ranges),
    config("network-matrix", "svg"));
  return Promise.all([brain, matrix]);
}

let waiting = false;
function drawSoon() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => { waiting = false; draw(); });
}

function hasWebGL() {
  try {
    return Boolean(document.createElement("canvas").getContext("webgl"));
  } catch {
    return false;
  }
}

// Return why there is no view in three dimensions; "" if there is one.
function obstacle() {
  if (!nodes.x.some((place) => place !== null)) {
    return "The brain is not shown: no region has coordinates. Name the atlas of the regions to see them there.";
  }
  if (!data.mesh) return "The brain cannot be turned here: the report was made without nilearn (pip install 'sgbn[brain]'). Pictures replace it.";
  if (!hasWebGL()) return "The brain cannot be turned here: this browser has no WebGL. Pictures replace it.";
  return "";
}

function listen() {
  const form = control("filters");
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", (event) => {
    if (event.target === control("what")) fitControls();
    drawSoon();
  });
  form.addEventListener("reset", () => setTimeout(() => { fitControls(); drawSoon(); }));
  document.addEventListener("themechange", drawSoon);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawSoon);
}

// The camera is kept here, because a new drawing would reset it.
function listenToBrain() {
  const plot = element("network-brain");
  plot.on("plotly_relayout", (change) => { views.camera = change["scene.camera"] || views.camera; });
  for (const button of control("brain-view").querySelectorAll(".networks-cameras button")) {
    button.addEventListener("click", () => {
      Plotly.relayout(plot, {"scene.camera": CAMERAS[button.dataset.camera] || zoomed(Number(button.dataset.zoom))});
    });
  }
}

function zoomed(factor) {
  const {eye} = views.camera;
  return {...views.camera, eye: {x: eye.x * factor, y: eye.y * factor, z: eye.z * factor}};
}

function listenToMatrix() {
  const plot = element("network-matrix");
  plot.on("plotly_relayout", (change) => {
    if (!Object.keys(change).some((key) => /^(xaxis|yaxis)\.(range|autorange)|^(auto|width|height)/.test(key))) return;
    const all = change["xaxis.autorange"] || change["yaxis.autorange"];
    const {xaxis, yaxis} = plot._fullLayout;
    views.ranges = all ? WHOLE : {x: [...xaxis.range], y: [...yaxis.range]};
    drawSoon();
  });
}

function start() {
  if (typeof Plotly === "undefined") return;
  const why = obstacle();
  views.brain = !why;
  control("interactive").hidden = control("matrix-view").hidden = false;
  control("brain-view").hidden = !views.brain;
  control("why").textContent = why;
  control("why").hidden = !why;
  element("static-views").hidden = views.brain || !nodes.x.some((place) => place !== null);
  fillForm();
  fitControls();
  listen();
  // Draw a second time: only now it is known how much room the axes leave for names.
  draw().then(() => {
    listenToMatrix();
    if (views.brain) listenToBrain();
    drawSoon();
  });
}

start();
})();
