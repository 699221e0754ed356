// Starts the page: makes the state that all views share, and draws the page.
import { render } from "preact";
import { App, DrawBoundary } from "./frame/app.tsx";
import { openPage, PageProvider } from "./page.ts";

const root = document.querySelector("#page");
if (!root) throw new Error("index.html has no #page");
root.replaceChildren();
render(
  <PageProvider value={openPage(window)}>
    <DrawBoundary what="The page">
      <App />
    </DrawBoundary>
  </PageProvider>,
  root,
);
