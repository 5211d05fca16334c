//! A self-contained page around a figure.

use reticent_figure::escape;

use crate::table::{Cell, Table};

/// A self-contained page: a heading, a paragraph, a figure made by [`svg`](super::svg) and a table of results.
pub fn html(title: &str, introduction: &str, figure: &str, table: &Table) -> String {
    page(
        title,
        &format!("<p>{}</p>\n<figure>\n{figure}</figure>\n{}", escape(introduction), html_table(table)),
    )
}

/// A page with this body.
pub(crate) fn page(title: &str, body: &str) -> String {
    let title = escape(title);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n\
         </head>\n<body>\n<h1>{title}</h1>\n{body}</body>\n</html>\n"
    )
}

/// A table as part of a page.
pub(crate) fn html_table(table: &Table) -> String {
    let class = |column: usize| if table.is_numeric(column) { " class=\"number\"" } else { "" };
    let row = |tag: &str, cells: &[String]| {
        let cell = |(c, cell): (usize, &String)| format!("<{tag}{}>{}</{tag}>", class(c), escape(cell));
        format!("<tr>{}</tr>\n", cells.iter().enumerate().map(cell).collect::<String>())
    };
    let body: String = table
        .rows()
        .iter()
        .map(|cells| row("td", &cells.iter().map(Cell::display).collect::<Vec<_>>()))
        .collect();
    let head = row("th", table.columns());
    format!("<table>\n<thead>\n{head}</thead>\n<tbody>\n{body}</tbody>\n</table>\n")
}

const STYLE: &str = "\
:root { color-scheme: light; }
body { font: 15px/1.5 system-ui, sans-serif; color: #222; background: #fff; }
body { max-width: 68rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; }
h2 { font-size: 1.1rem; }
p { max-width: 44rem; }
figure { margin: 1.5rem 0; overflow-x: auto; }
figure svg { max-width: 100%; height: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .8rem; text-align: left; border-bottom: 1px solid #ddd; }
th { border-bottom: 2px solid #888; }
.number { text-align: right; }
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_fetches_nothing_and_escapes() {
        let mut table = Table::new(&["method", "F"]);
        table.push(vec!["<b>".into(), 0.5.into()]).unwrap();
        let page = html("Figure 1", "One & all.", "<svg></svg>", &table);
        assert!(page.contains("<td>&lt;b&gt;</td><td class=\"number\">0.5000</td>"));
        assert!(page.contains("One &amp; all."));
        assert!(!page.contains("http") && !page.contains("<script"));
    }
}
