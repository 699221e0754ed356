// Builds the kit: a document of its own with the page's parts in all their states, for pixel tests. A Worker never
// serves the kit.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { build } from "esbuild";
import { ROOT } from "../e2e/local-cluster.ts";

/** The present time of the kit. */
const NOW = Date.parse("2026-11-26T11:00:39Z");

/** The font of the kit: with the computer's own fonts, lines would break at other places. */
const FONT = join(
  dirname(createRequire(import.meta.url).resolve("vitepress/package.json")),
  "dist/client/theme-default/fonts/inter-roman-latin.woff2",
);

/** Returns the kit as one document without links to other files. */
export async function kitDocument(): Promise<string> {
  const font = readFileSync(FONT).toString("base64");
  const { outputFiles } = await build({
    entryPoints: [join(ROOT, "test/infra/page/kit/kit.tsx"), join(ROOT, "infra/page/page.css")],
    outdir: join(ROOT, "test-output/kit"),
    write: false,
    bundle: true,
    format: "iife",
    target: ["es2022", "chrome123"],
    jsx: "automatic",
    jsxImportSource: "preact",
    loader: { ".svg": "dataurl" },
  });
  const text = (end: string) =>
    outputFiles
      .filter(({ path }) => path.endsWith(end))
      .map((file) => file.text)
      .join("\n");
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Kit</title>
    <link rel="icon" href="data:," />
    <style>${text(".css")}
      @font-face { font-family: Kit; font-weight: 100 900; src: url(data:font/woff2;base64,${font}); }
      :root { --sans: Kit, sans-serif; --mono: Kit, sans-serif; }
    </style>
  </head>
  <body>
    <div id="kit"></div>
    <script>Date.now = () => ${NOW};</script>
    <script>${text(".js").replaceAll("</script", "<\\/script")}</script>
  </body>
</html>
`;
}
