// Part of npm run build: the API's description, which is then one of the Worker's static files.
import { writeDocument } from "./write-document.ts";

writeDocument();
