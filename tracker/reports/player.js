"use strict";
(() => {
  const box = document.getElementById("player"), data = JSON.parse(document.getElementById("player-data").textContent);
  const find = name => box.querySelector("[data-" + name + "]");
  const canvas = find("canvas"), slider = find("time"), button = find("play"), choice = find("trial"), words = find("words");
  const pen = canvas.getContext("2d"), TAIL = 14, several = data.modes.length > 1, STRIP = several ? 14 : 0;
  let trial, at = 0, playing = false, last = 0;
  const numbers = text => {
    const bytes = Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
    return new Uint16Array(bytes.buffer);
  };
  const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  let maps = [];
  function paint() {  // a picture of its own does not know the colours of the page: they are written into it
    maps = [...box.querySelectorAll("svg")].map(svg => {
      const copy = svg.cloneNode(true), image = new Image(), size = svg.getAttribute("viewBox").split(" ");
      copy.setAttribute("width", size[2]); copy.setAttribute("height", size[3]);
      image.onload = draw;
      const text = new XMLSerializer().serializeToString(copy).replace(/var\((--[\w-]+)\)/g, (_, name) => colour(name));
      image.src = "data:image/svg+xml," + encodeURIComponent(text);
      return image;
    });
  }
  function choose() {
    const one = data.trials[choice.value];
    trial = { mode: atob(one.mode), paths: one.paths.map(numbers) };
    slider.max = data.records - 1;
    draw();
  }
  const shown = n => { const tick = document.getElementById("s" + data.samplers[n].mark); return !tick || tick.checked; };
  function place(path, k) {
    const x = path[2 * k], y = path[2 * k + 1];
    return x === 65535 ? null : [x / 65534 * canvas.width, (1 - y / 65534) * (canvas.height - STRIP - 4)];
  }
  function draw() {
    if (!trial) return;
    const wide = canvas.width, high = canvas.height - STRIP - 4, mode = trial.mode.charCodeAt(at);
    pen.clearRect(0, 0, wide, canvas.height);
    const map = maps[Math.min(mode, maps.length - 1)];
    if (map.complete && map.naturalWidth) pen.drawImage(map, 0, 0, wide, high);
    for (let k = 0; k < data.records; k++) {
      pen.fillStyle = data.colours[trial.mode.charCodeAt(k)] || "#888";
      pen.fillRect(k / data.records * wide, high + 4, wide / data.records + 1, STRIP);
    }
    pen.fillStyle = colour("--ink");
    pen.fillRect(at / data.records * wide - 1, high, 3, several ? STRIP + 4 : 0);
    trial.paths.forEach((path, n) => {
      if (!shown(n)) return;
      pen.strokeStyle = pen.fillStyle = colour("--kind-" + data.samplers[n].colour);
      pen.globalAlpha = .45; pen.lineWidth = 1.5; pen.beginPath();
      for (let k = Math.max(0, at - TAIL); k <= at; k++) { const p = place(path, k); if (p) pen.lineTo(p[0], p[1]); }
      pen.stroke(); pen.globalAlpha = 1;
      const now = place(path, at);
      if (now) { pen.beginPath(); pen.arc(now[0], now[1], 6, 0, 7); pen.fill(); pen.strokeStyle = colour("--paper"); pen.stroke(); }
    });
    slider.value = at;
    const said = "step " + (at * data.every).toLocaleString("en") + (several ? ", mode " + data.modes[mode] : "");
    words.textContent = said; slider.setAttribute("aria-valuetext", said);
  }
  function tick(now) {
    if (!playing) return;
    if (now - last > 40) { last = now; at = (at + 1) % data.records; draw(); }
    requestAnimationFrame(tick);
  }
  button.onclick = () => {
    playing = !playing; button.textContent = playing ? "Pause" : "Play"; requestAnimationFrame(tick);
  };
  slider.oninput = () => { at = +slider.value; draw(); };
  choice.onchange = choose;
  document.querySelectorAll(".legend input").forEach(one => one.addEventListener("change", draw));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
  box.hidden = false;
  paint(); choose();
})();
