// The server: requests and answers. An answer to work comes as lines of JSON, progress before the result.

export class Wrong extends Error {
  constructor(problems) {
    super(problems.map((problem) => `found ${problem.found}; expected ${problem.expected}`).join("\n"));
    this.problems = problems;
  }
}

export class Failed extends Error {}

const page = crypto.randomUUID ? crypto.randomUUID() : `page-${Date.now()}-${Math.round(performance.now())}`;

async function checked(answer) {
  if (answer.ok) return answer;
  if (answer.status === 422 && answer.headers.get("content-type")?.startsWith("application/json"))
    throw new Wrong((await answer.json()).problems);
  throw new Failed((await answer.text()).trim() || `the server answered ${answer.status}`);
}

export async function get(path) {
  return (await checked(await fetch(path))).json();
}

function post(path, body, signal, method = "POST") {
  const headers = { "content-type": "application/json" };
  return fetch(path, { method, headers, body: JSON.stringify({ page, ...body }), signal });
}

/** Work whose progress is told: progress(part), and partial(answer) with what is known so far. */
export async function work(kind, body, { signal, progress, partial } = {}) {
  const answer = await checked(await post(`/api/${kind}`, body, signal));
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let held = "";
  let result = null;
  for (;;) {
    const { done, value } = await reader.read();
    held += value ?? "";
    let end;
    while ((end = held.indexOf("\n")) >= 0) {
      const line = JSON.parse(held.slice(0, end));
      held = held.slice(end + 1);
      if ("progress" in line) progress?.(line.progress);
      else if ("partial" in line) partial?.(line.partial);
      else result = line;
    }
    if (done) break;
  }
  if (result === null) throw new Failed("the server ended before the result was there");
  if (result.failed) throw new Failed(result.failed);
  if (result.problems) throw new Wrong(result.problems);
  return result;
}

/** A file: its name and content. */
export async function exported(body) {
  const answer = await checked(await post("/api/export", body));
  const named = /filename\*=UTF-8''([^;]+)/.exec(answer.headers.get("content-disposition") ?? "");
  return { name: named ? decodeURIComponent(named[1]) : "scenario", content: await answer.blob() };
}

export async function save(text) {
  return (await checked(await post("/api/opened", { text }, undefined, "PUT"))).json();
}
