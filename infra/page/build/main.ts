// Part of npm run build: the page and its headers, which are then static files of the Worker.
import { writePage } from "./build.ts";

const { text, isSmallEnough } = await writePage();
if (isSmallEnough) console.log(text);
else {
  console.error(`${text}\nnot built: the page's first load is larger than was promised`);
  process.exitCode = 1;
}
