import { escapeHtml } from './escape-html.ts';

export interface Letter {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** A block of a letter, with the same content in plain text and in HTML. */
export type Block =
  | { readonly paragraph: string }
  | { readonly name: string; readonly value: string; readonly size: 'large' | 'normal' }
  | { readonly link: string };

/**
 * Renders a letter as plain text and HTML. It has no images, scripts, style sheets or colours, so
 * that nothing is loaded and dark mode works.
 */
export function letter(subject: string, blocks: readonly Block[]): Letter {
  return {
    subject,
    text: blocks.map((block) => `${blockText(block)}\n`).join('\n'),
    html: page(subject, blocks.map(blockHtml).join('\n')),
  };
}

function blockText(block: Block): string {
  if ('paragraph' in block) return wrap(block.paragraph);
  return 'link' in block ? block.link : `${block.name}: ${block.value}`;
}

/** Wraps text to short lines, so that it is sent as it is and not as quoted-printable. */
function wrap(text: string): string {
  return text.replace(/(.{1,72})(?:\s+|$)/g, '$1\n').trimEnd();
}

const valueStyles = {
  large: 'font:bold 32px/1.4 monospace;letter-spacing:2px',
  normal: 'font:16px/1.4 monospace',
};

function blockHtml(block: Block): string {
  if ('paragraph' in block) return `<p>${escapeHtml(block.paragraph)}</p>`;
  if ('link' in block) {
    const link = escapeHtml(block.link);
    return `<p style="word-break:break-all"><a href="${link}" rel="noreferrer">${link}</a></p>`;
  }
  const { name, value, size } = block;
  const shown = `<span style="${valueStyles[size]}">${escapeHtml(value)}</span>`;
  return `<p>${escapeHtml(name)}:<br>${shown}</p>`;
}

function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<title>${escapeHtml(title)}</title>
</head>
<body style="max-width:36em;margin:0 auto;padding:24px;font:16px/1.5 sans-serif">
${body}
</body>
</html>
`;
}
