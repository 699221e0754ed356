// A step of npm run build: builds the page and its headers into static files of the Worker.
import { writePage } from "./build.ts";

const { text, isSmallEnough } = await writePage();
if (isSmallEnough) console.log(text);
else {
  console.error(`${text}\nnot built: the page's first load is larger than was promised`);
  process.exitCode = 1;
}
