// The headers of the Worker's static files, once: Cloudflare has them as worker/static/_headers, the local Worker as they
// are here. Knows no file by its hash.

/** A row: the paths it is of (`/page/*`: all that begin so), and what they are served with. */
export interface HeaderRule {
  path: string;
  headers: Readonly<Record<string, string>>;
}

/** Nothing but this origin's own files and API: no inline script or style, no frame, no form. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  // Where a browser knows it, no text becomes HTML or a script, not even by a mistake of the page's own.
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

/** What the page never asks for, and what of it may not either. */
const NO_FEATURES = ["camera", "display-capture", "geolocation", "microphone", "payment", "usb"];

/**
 * No two rows that one path matches may have the same header: Cloudflare would join both values. A file whose name has its
 * hash is never another one; of the page itself a browser asks each time whether it has changed.
 */
export const HEADER_RULES: readonly HeaderRule[] = [
  {
    path: "/*",
    headers: {
      "Content-Security-Policy": CONTENT_SECURITY_POLICY,
      "Cross-Origin-Opener-Policy": "same-origin",
      "Permissions-Policy": NO_FEATURES.map((feature) => `${feature}=()`).join(", "),
      "Referrer-Policy": "no-referrer",
      "X-Content-Type-Options": "nosniff",
      "X-Frame-Options": "DENY",
    },
  },
  { path: "/", headers: { "Cache-Control": "no-cache" } },
  { path: "/page/*", headers: { "Cache-Control": "public, max-age=31536000, immutable" } },
];

/** Those of a path without its query; Cloudflare's own for what no row says. */
export function headersOf(path: string): Record<string, string> {
  const matching = HEADER_RULES.filter((rule) => isOf(rule, path));
  return Object.assign(
    { "Cache-Control": "public, max-age=0, must-revalidate" },
    ...matching.map(({ headers }) => headers),
  ) as Record<string, string>;
}

function isOf(rule: HeaderRule, path: string): boolean {
  return rule.path.endsWith("*") ? path.startsWith(rule.path.slice(0, -1)) : path === rule.path;
}

/** worker/static/_headers. */
export function headersFile(rules: readonly HeaderRule[] = HEADER_RULES): string {
  const blocks = rules.map(({ path, headers }) => {
    const lines = Object.entries(headers).map(([name, value]) => `  ${name}: ${value}`);
    return [path, ...lines].join("\n");
  });
  return `${blocks.join("\n\n")}\n`;
}
