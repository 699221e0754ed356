// Serves the Worker's static files (wrangler.toml) like Cloudflare: with the same headers, and before the Worker is
// called. This file is a part of the local Worker's bundle and runs in workerd.
import { headersOf } from "../page/build/headers.ts";

/** The workerd service that reads the folder of static files. */
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

/** The form of a static file's path, like `/page/main-ABCDEFGH.js`. No other path is looked for on disk. */
const FILE = /^(?:\/[\w-]+)*\/[\w-]+(?:\.[\w-]+)*\.(\w+)$/;

/** The paths that Cloudflare redirects to the page (html_handling). */
const PAGE_NAMES = new Set(["/index", "/index.html"]);

/** Returns the static file for a request, or null if the Worker has to answer the request. */
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

/** Returns true if the client already has the file, also by a weak ETag, as a proxy makes it. */
function isKnown(ifNoneMatch: string | null, etag: string): boolean {
  const tags = new Set((ifNoneMatch ?? "").split(",").map((tag) => tag.trim().replace(/^W\//, "")));
  return tags.has(etag) || tags.has("*");
}
