// Reads a JSON list of Mermaid's texts and prints, for each, its boxes and lines as the real Mermaid has read them.
const fs = require("node:fs");
const vm = require("node:vm");
const { parseHTML } = require("linkedom");

globalThis.window = parseHTML("<!doctype html><html><body></body></html>"); // it cleans labels by a page's means
globalThis.document = window.document;
vm.runInThisContext(fs.readFileSync(require.resolve("@mermaid-js/tiny/dist/mermaid.tiny.js"), "utf8"));

async function read(text) {
  try {
    await mermaid.parse(text);
    const { db } = await mermaid.mermaidAPI.getDiagramFromText(text);
    return {
      boxes: [...db.getVertices().values()].map(({ id, text, classes }) => [id, text, classes]),
      lines: db.getEdges().map(({ start, end, text }) => [start, end, text]),
    };
  } catch (error) {
    return { error: String(error) };
  }
}

(async () => {
  const texts = JSON.parse(fs.readFileSync(0, "utf8"));
  const found = [];
  for (const text of texts) found.push(await read(text)); // one after the other: it keeps one diagram
  console.log(JSON.stringify(found));
})();
