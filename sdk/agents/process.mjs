// Processes of ours: each leads a group of its own, and ends with what it started.
import { spawn } from "node:child_process";

const children = new Set();

/** Starts a process; its text grows, and gone is its exit code. */
export function start(command, args, options) {
  const child = spawn(command, args, { ...options, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  children.add(child);
  child.text = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (child.text += data));
  child.gone = new Promise((resolve) => child.on("close", resolve).on("error", (error) => resolve(String(error))));
  return child;
}

/** The first group of a pattern, once the process has written it. */
export async function says(child, pattern) {
  for (let i = 0; i < 3000; i++) {
    const found = pattern.exec(child.text);
    if (found) return found[1];
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`no ${pattern} in ${child.text}`);
}

export function end(child) {
  children.delete(child);
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {} // it is gone
}

export function endAll() {
  for (const child of children) end(child);
}
