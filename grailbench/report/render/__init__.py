"""Renderers: each takes any `grailbench.report.table.Table`.

terminal  lines and a grid for `grailbench.util.screen.put`
markdown  a section: heading, table, notes
csv       the typed values of a file
json      plain records
latex     a `table` environment, or a `longtable`
html      a fragment: `<table>` with its caption and notes
"""
