// Defines the headers of the Worker's static files, for worker/static/_headers on Cloudflare and for the local Worker.

/** The headers of a path. A path that ends in `*` stands for all paths that begin with the text before it. */
export interface HeaderRule {
  path: string;
  headers: Readonly<Record<string, string>>;
}

/** The content security policy: this origin's files and API, no inline script or style, no frame, no form. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  // Browsers with Trusted Types turn no text into HTML or a script, even if the page's code tries to.
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

/** The browser features that the page and its scripts may not use. */
const NO_FEATURES = ["camera", "display-capture", "geolocation", "microphone", "payment", "usb"];

/**
 * The headers by path. Two rules for one path must not set the same header, because Cloudflare joins the values.
 * Files with a hash in their name never change. The page itself is requested each time.
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

/** Returns the headers of a path without a query. A path that matches no rule has Cloudflare's default headers. */
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

export function headersFile(rules: readonly HeaderRule[] = HEADER_RULES): string {
  const blocks = rules.map(({ path, headers }) => {
    const lines = Object.entries(headers).map(([name, value]) => `  ${name}: ${value}`);
    return [path, ...lines].join("\n");
  });
  return `${blocks.join("\n\n")}\n`;
}
