/** The report's look: system fonts, one column, light and dark, phone and paper. Colours by Okabe and Ito, safe for colour-blind eyes. */
export const style = `
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#57606a;--line:#d8dee4;--paper:#fff;--panel:#f6f8fa;--good:#0a6b3d;--bad:#b3261e;--open:#7a4d00;--limit:#b3261e;
--s0:#0067a3;--s1:#b34700;--s2:#00745a;--s3:#9a2f7a;--s4:#5b5b00;--s5:#4a4a8a;--g0:#7a8794;--g1:#56a8d8;--g2:#e0a030;--g3:#00805f;--g4:#c06aa0;--g5:#a0a0a8}
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#9fb0c0;--line:#30363d;--paper:#0d1117;--panel:#161b22;--good:#56d38a;--bad:#ff8a80;--open:#f0c060;--limit:#ff8a80;
--s0:#62b8f0;--s1:#ff9d5c;--s2:#3fd0a8;--s3:#ef8fd0;--s4:#d5d55a;--s5:#b0b0ff;--g0:#6b7a89;--g1:#3d8fc2;--g2:#c28a20;--g3:#1f9a75;--g4:#b05c94;--g5:#8a8f98}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{max-width:960px;margin:0 auto;padding:28px 20px 60px}
a{color:var(--s0)}a:focus-visible,summary:focus-visible,[tabindex]:focus-visible{outline:3px solid var(--s0);outline-offset:2px}
.skip{position:absolute;left:-999px}.skip:focus{left:8px;top:8px;background:var(--paper);padding:6px 10px;z-index:1}
header p.what{margin:0;color:var(--soft);font-size:14px}
h1{font-size:26px;line-height:1.25;margin:8px 0 10px;text-wrap:balance}
h2{font-size:19px;margin:44px 0 8px;padding-top:12px;border-top:1px solid var(--line)}
h3{font-size:16px;margin:22px 0 4px}
.kind{display:inline-block;font-size:13px;font-weight:600;padding:2px 10px;border-radius:999px;border:1px solid currentColor}
.winner,.keep,.no-difference,.pass{color:var(--good)}.none-meets,.fail,.invalid{color:var(--bad)}.cannot-tell,.tainted{color:var(--open)}.not-asked{color:var(--soft)}
.next{font-weight:600}
p,li,h1,h2,h3,summary{overflow-wrap:anywhere}ul{padding-left:20px;margin:6px 0}li{margin:3px 0}
.scroll{overflow-x:auto;margin:10px 0}
table{border-collapse:collapse;width:100%;font-size:14px;font-variant-numeric:tabular-nums}
caption{text-align:left;color:var(--soft);font-size:13.5px;padding-bottom:4px}
th,td{text-align:left;vertical-align:top;padding:6px 12px 6px 0;border-bottom:1px solid var(--line)}
thead th{font-weight:600;color:var(--soft);font-size:13px;vertical-align:bottom}tbody td:not(.n){min-width:150px}tbody th{font-weight:600;min-width:150px}
td.n,th.n{white-space:nowrap}
.proposed th::before{content:"▸ "}
.soft,.note{color:var(--soft);font-size:14px}
code,pre{font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;overflow-wrap:anywhere}
pre{background:var(--panel);padding:10px 12px;border-radius:6px;white-space:pre-wrap}
details{margin:10px 0}summary{cursor:pointer;font-weight:600}
.plot{width:100%;height:auto;margin:10px 0;font-family:inherit;display:block}
.plot text{fill:var(--ink);font-size:13px}.plot .tick,.plot .axis{fill:var(--soft);font-size:12px}.plot .limit-text{fill:var(--limit);font-size:12px;font-weight:600}.plot .in-bar{fill:#10151a;font-size:11.5px}
.grid{stroke:var(--line);stroke-width:1}.limit{stroke:var(--limit);stroke-width:2;fill:none}.whisker{stroke-width:2.5;stroke-linecap:round}.open{fill:none;stroke-width:2}
.curve{fill:none;stroke-width:2.4}.d1{stroke-dasharray:8 4}.d2{stroke-dasharray:2.5 3.5}.d3{stroke-dasharray:10 3 2 3}
.mark{stroke:var(--paper);stroke-width:1.2}
${[0, 1, 2, 3, 4, 5].map((k) => `.s${k}{stroke:var(--s${k})}.mark.s${k}{fill:var(--s${k});stroke:var(--paper)}.bar.s${k}{fill:var(--s${k});stroke:none}`).join("")}
${[0, 1, 2, 3, 4, 5].map((k) => `.g${k}{fill:var(--g${k})}`).join("")}
.stall{fill:var(--limit);opacity:.18;stroke:none}.area{stroke:none;opacity:.35}${[0, 1, 2, 3, 4, 5].map((k) => `.area.s${k}{fill:var(--s${k})}`).join("")}
.build{fill:var(--s0)}.build.cached{fill:var(--g0)}.build.failed{fill:var(--bad)}.phase{stroke:var(--paper);stroke-width:1}
.frame{overflow-x:auto}
@media(max-width:560px){body{font-size:15px}main{padding:18px 14px 40px}h1{font-size:21px}.frame .plot{min-width:560px}}
@media print{:root{color-scheme:light}body{font-size:11pt}main{max-width:none;padding:0}.skip{display:none}h2{break-after:avoid}.plot,tr{break-inside:avoid}.scroll,.frame{overflow:visible}.frame .plot{min-width:0}}
`.trim();
