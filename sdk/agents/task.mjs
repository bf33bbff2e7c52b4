// What agents are to read: files with a word each that stands nowhere else, a picture, and a PDF.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { turns } from "./upstream.mjs";

const picture = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

// pdf has one page.
function pdf(words) {
  const text = `BT /F1 24 Tf 72 700 Td (${words}) Tj ET`;
  const objects = [
    "<< /Type /Catalog /Pages 2 0 R >>",
    "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
    "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
    `<< /Length ${text.length} >>\nstream\n${text}\nendstream`,
    "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
  ];
  let out = "%PDF-1.4\n";
  const places = objects.map((object, i) => {
    const place = out.length;
    out += `${i + 1} 0 obj\n${object}\nendobj\n`;
    return `${String(place).padStart(10, "0")} 00000 n \n`;
  });
  const table = out.length;
  return `${out}xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${places.join("")}trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${table}\n%%EOF\n`;
}

/** Writes the files; of picture and PDF those that the agent's tool reads are among those that it is asked for. */
export function files(work, reads) {
  mkdirSync(work, { recursive: true });
  writeFileSync(join(work, "picture.png"), Buffer.from(picture, "base64"));
  writeFileSync(join(work, "document.pdf"), pdf("A page of words"));
  const list = Array.from({ length: 2 * turns }, (_, i) => {
    const name = `file-${String(i + 1).padStart(2, "0")}.txt`;
    const word = `word${(i + 1) * 7919}end`;
    writeFileSync(join(work, name), `${word}\n`);
    return { name, path: join(work, name), word };
  });
  if (reads.includes("picture")) list[1] = { name: "picture.png", path: join(work, "picture.png") };
  if (reads.includes("PDF")) list[3] = { name: "document.pdf", path: join(work, "document.pdf") };
  return list;
}
