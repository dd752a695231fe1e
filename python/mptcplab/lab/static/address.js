// The state in the address: compressed, after the #, which never leaves the browser.

async function through(stream, bytes) {
  const piped = new Blob([bytes]).stream().pipeThrough(stream);
  return new Uint8Array(await new Response(piped).arrayBuffer());
}

export async function written(value) {
  const bytes = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(JSON.stringify(value)));
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return `#s=${btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

/** The value of an address, or null when there is none that can be read. */
export async function read(hash) {
  const found = /^#s=([A-Za-z0-9_-]+)$/.exec(hash);
  if (!found) return null;
  try {
    const text = atob(found[1].replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(text, (character) => character.charCodeAt(0));
    return JSON.parse(new TextDecoder().decode(await through(new DecompressionStream("deflate-raw"), bytes)));
  } catch {
    return null;
  }
}
