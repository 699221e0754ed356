// Builds the page and its headers into static files of the Worker, for npm run build.
import { writePage } from "./build.ts";

const { text, isSmallEnough } = await writePage();
if (isSmallEnough) console.log(text);
else {
  console.error(`${text}\nnot built: the page's first load is larger than was promised`);
  process.exitCode = 1;
}
