// Serves the Worker's static files (wrangler.toml) as Cloudflare does: with the same headers, and before the Worker is called.
// It is a part of the local Worker's bundle and runs in workerd.
import { headersOf } from "../page/build/headers.ts";

/** workerd's service for the folder of the files. */
interface Disk {
  fetch: (url: string) => Promise<Response>;
}

const TYPES: Readonly<Record<string, string>> = {
  css: "text/css; charset=utf-8",
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  json: "application/json",
  svg: "image/svg+xml",
  txt: "text/plain; charset=utf-8",
};

/** `/page/main-ABCDEFGH.js`. Other paths are no static files. */
const FILE = /^(?:\/[\w-]+)*\/[\w-]+(?:\.[\w-]+)*\.(\w+)$/;

/** Cloudflare redirects these names to the page (html_handling). */
const PAGE_NAMES = new Set(["/index", "/index.html"]);

/** Returns null if the Worker answers the request. */
export async function staticAnswer(request: Request, disk: Disk): Promise<Response | null> {
  const { pathname } = new URL(request.url);
  const file = pathname === "/" || PAGE_NAMES.has(pathname) ? "/index.html" : pathname;
  const type = TYPES[FILE.exec(file)?.[1] ?? ""];
  if (type === undefined || file.startsWith("/v1/")) return null;
  const found = await disk.fetch(`http://static${file}`);
  const contents = await found.arrayBuffer();
  if (!found.ok) return null;
  const headers = headersOf(pathname);
  if (request.method !== "GET" && request.method !== "HEAD")
    return new Response(null, { status: 405, headers });
  if (PAGE_NAMES.has(pathname))
    return new Response(null, { status: 307, headers: { ...headers, location: "/" } });
  const etag = await etagOf(contents);
  const known = { ...headers, "content-type": type, etag };
  if (isKnown(request.headers.get("if-none-match"), etag))
    return new Response(null, { status: 304, headers: known });
  return new Response(request.method === "HEAD" ? null : contents, { headers: known });
}

async function etagOf(contents: ArrayBuffer): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", contents));
  return `"${[...digest.subarray(0, 16)].map((byte) => byte.toString(16).padStart(2, "0")).join("")}"`;
}

/** Compares with weak ETags too: a proxy may have made one. */
function isKnown(ifNoneMatch: string | null, etag: string): boolean {
  const tags = new Set((ifNoneMatch ?? "").split(",").map((tag) => tag.trim().replace(/^W\//, "")));
  return tags.has(etag) || tags.has("*");
}
