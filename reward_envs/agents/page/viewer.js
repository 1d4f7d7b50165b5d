(() => {
  const episodes = JSON.parse(document.getElementById("data").textContent);
  const find = (id) => document.getElementById(id);
  if (!episodes.length) { find("viewer").textContent = "No episode was recorded."; return; }
  const number = (x) => x === null ? "unknown" : (Math.abs(x) < 5e-4 ? "0" : x.toFixed(3));
  let episode = episodes[0], timer = null;

  episodes.forEach((e, i) => find("which").add(new Option(e.reward, i)));

  function sums(until) {
    return episode.terms.map((_, k) => episode.values.slice(0, until).reduce((a, row) => a + (row[k] ?? 0), 0));
  }

  function show(at) {
    const t = Math.max(0, Math.min(episode.values.length, at));
    find("step").value = t;
    const paid = t > 0 ? episode.values[t - 1] : null, total = sums(t);
    const end = t === episode.values.length ? ` (${episode.end})` : "";
    find("where").textContent = `step ${t} of ${episode.values.length}${end}`;
    if (episode.frames.length) find("frame").src = episode.frames[Math.min(t, episode.frames.length - 1)];
    find("caption").textContent = t > 0 ? `action: ${episode.actions[t - 1]}` : "the start";
    const body = find("terms-now").tBodies[0];
    body.replaceChildren(...episode.terms.map((name, k) => {
      const row = document.createElement("tr");
      for (const text of [name, paid ? number(paid[k]) : "", number(total[k])]) {
        row.insertCell().textContent = text;
      }
      row.cells[0].style.borderLeft = `6px solid ${episode.colours[k]}`;
      row.cells[0].style.paddingLeft = "8px";
      return row;
    }));
    const cursor = find("timeline").querySelector(".cursor");
    const x = 10 + 580 * t / Math.max(1, episode.values.length);
    cursor.setAttribute("x1", x); cursor.setAttribute("x2", x);
  }

  function draw() {
    const svg = find("timeline"), space = "http://www.w3.org/2000/svg";
    const flat = episode.values.flat().filter((v) => v !== null);
    const low = Math.min(0, ...flat), high = Math.max(0, ...flat), span = high - low || 1;
    const y = (v) => 140 - 130 * (v - low) / span;
    const add = (kind, attributes) => {
      const node = document.createElementNS(space, kind);
      for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
      svg.append(node);
      return node;
    };
    svg.replaceChildren();
    add("line", { x1: 10, x2: 590, y1: y(0), y2: y(0), stroke: "#bbb" });
    episode.terms.forEach((_, k) => {
      const points = episode.values.map((row, t) => `${10 + 580 * (t + 1) / episode.values.length},${y(row[k] ?? 0)}`);
      add("polyline", { points: points.join(" "), fill: "none", stroke: episode.colours[k], "stroke-width": 1.8 });
    });
    add("line", { class: "cursor", y1: 5, y2: 145, stroke: "#c00", "stroke-width": 1.2 });
  }

  function choose(i) {
    episode = episodes[i];
    find("step").max = episode.values.length;
    draw();
    show(0);
  }

  function stop() { clearInterval(timer); timer = null; find("play").textContent = "Play"; }

  find("which").addEventListener("change", (e) => { stop(); choose(Number(e.target.value)); });
  find("step").addEventListener("input", (e) => { stop(); show(Number(e.target.value)); });
  find("back").addEventListener("click", () => { stop(); show(Number(find("step").value) - 1); });
  find("next").addEventListener("click", () => { stop(); show(Number(find("step").value) + 1); });
  find("play").addEventListener("click", () => {
    if (timer) return stop();
    if (Number(find("step").value) >= episode.values.length) show(0);
    find("play").textContent = "Pause";
    timer = setInterval(() => {
      const t = Number(find("step").value);
      if (t >= episode.values.length) stop(); else show(t + 1);
    }, 160);
  });
  choose(0);
})();
