/** The shell of a report: one HTML file without script or outside request. */
import { escape } from "./format.ts";
import { style } from "./style.ts";

export interface Page {
  title: string;
  /** What it is about, one line; HTML. */
  what: string;
  /** The answer. */
  sentence: string;
  /** A word for it, and the class that colours it. */
  kind: { text: string; className: string };
  /** What to do next; HTML, may be empty. */
  next: string;
  /** Id of the part that the skip link leads to, and its name. */
  skip: { id: string; name: string };
  /** HTML below the head. */
  body: string;
}

export const page = ({ title, what, sentence, kind, next, skip, body }: Page): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>${escape(title)} – Assay</title>
<style>${style}</style>
</head>
<body>
<a class="skip" href="#${skip.id}">Skip to ${escape(skip.name)}</a>
<main>
<header>
<p class="what">${what}</p>
<h1>${escape(sentence)}</h1>
<p><span class="kind ${kind.className}">${escape(kind.text)}</span></p>
${next}
</header>
${body}
</main>
</body>
</html>
`;
