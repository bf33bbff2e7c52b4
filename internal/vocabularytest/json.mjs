// JSON written anew, as servers and templates write it. It is read as text, so that 1e15 stays a number with an exponent.

// pieces are strings, numbers, words and signs of a JSON text, without its white space.
const pieces = (json) => json.match(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|[a-z]+|[[\]{},:]/gu) ?? [];

const isFloat = (n) => /[.eE]/.test(n);

// python is how Python's json and repr write a number: https://docs.python.org/3/library/functions.html#float
export function python(n) {
  if (!isFloat(n)) return n.replace(/^-0$/, "0");
  const [mantissa, exponent] = Number(n).toExponential().split("e");
  if (exponent >= 16 || exponent < -4) return `${mantissa}e${exponent[0]}${exponent.slice(1).padStart(2, "0")}`;
  const plain = Number(n).toFixed(Math.max(0, mantissa.replace(/^-?\d\.?/, "").length - exponent));
  return plain.includes(".") ? plain : plain + ".0";
}

// go is how Go's encoding/json, and JavaScript, write a number.
export const go = (n) => String(Number(n));

const hex = (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0");

// The ways to write: separators, indentation, strings, numbers, words.
export const styles = {
  python: { string: JSON.stringify, number: python, comma: ", ", colon: ": " },
  lines: { string: JSON.stringify, number: python, comma: ",", colon: ": ", indent: 4 },
  jinja: {
    string: (s) => JSON.stringify(s).replace(/[<>&'\u007f-\uffff]/g, (c) => (c === "\u007f" ? c : hex(c))),
    number: python, comma: ", ", colon: ": ",
  },
  repr: {
    string: (s) => "'" + JSON.stringify(s).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")
      .replace(/[\p{C}\p{Z}]/gu, (c) => (c === " " ? c : escape(c))) + "'",
    number: python, comma: ", ", colon: ": ", words: { true: "True", false: "False", null: "None" },
  },
  go: { string: (s) => JSON.stringify(s).replace(/[<>&\u2028\u2029]/g, hex), number: go, comma: ",", colon: ":" },
};

function escape(c) {
  const n = c.codePointAt(0);
  if (n < 0x100) return "\\x" + n.toString(16).padStart(2, "0");
  return n < 0x10000 ? "\\u" + n.toString(16).padStart(4, "0") : "\\U" + n.toString(16).padStart(8, "0");
}

// write is a JSON text in a style.
export function write(json, style) {
  let out = "", depth = 0;
  const line = () => (style.indent ? "\n" + " ".repeat(style.indent * depth) : "");
  const list = pieces(json);
  for (let i = 0; i < list.length; i++) {
    const p = list[i];
    if (p[0] === '"') out += style.string(JSON.parse(p));
    else if (p === ",") out += style.comma + line();
    else if (p === ":") out += style.colon;
    else if (p === "[" || p === "{") {
      depth++;
      out += p + (/[\]}]/.test(list[i + 1] ?? "") ? "" : line());
    } else if (p === "]" || p === "}") {
      depth--;
      out += (/[[{]/.test(list[i - 1] ?? "") ? "" : line()) + p;
    } else if (/^[a-z]/.test(p)) out += style.words?.[p] ?? p;
    else out += style.number(p);
  }
  return out;
}

// members are the names and the values, as JSON, of an object.
export function members(json) {
  const list = pieces(json), found = [];
  let depth = 0, name, from = 0;
  for (let i = 0; i < list.length; i++) {
    if ("[{".includes(list[i])) depth++;
    if ("]}".includes(list[i])) depth--;
    const ends = (depth === 1 && list[i] === ",") || (depth === 0 && i === list.length - 1);
    if (depth === 1 && list[i] === ":" && name === undefined) [name, from] = [JSON.parse(list[i - 1]), i + 1];
    else if (ends && name !== undefined) {
      found.push([name, list.slice(from, i).join("")]);
      name = undefined;
    }
  }
  return found;
}
