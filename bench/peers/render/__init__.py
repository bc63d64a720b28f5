"""From the figures to the page: Markdown, SVG and PNG."""
