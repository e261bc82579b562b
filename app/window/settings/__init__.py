"""The page "Settings": every setting in one of seven parts; a change applies at once, a refused value says why.

page             the title and the choice of a part
setting_row      a field bound to one setting: writes it, follows it, shows why a value is refused
look_pane        the theme, ligatures, and the keys of suggestions (key_field takes a key)
completion_pane  when suggestions appear, and decoding_card: in which precision
editors_pane     the server for other editors, what to paste into each of them, and request_list: the last requests
work_pane        memory and training load, the watcher, secrets, automatic adaptation
storage_pane     the data folder with its disk use (moved by move_part), the log; kept_part deletes what is kept about
                 the open repository
device_pane      the devices (device_card), the race between them (race_card), the benchmark (benchmark_card, with every
                 kernel in benchmark_table), the check of their numbers (check_card, kernel_table); figures_view is what
                 the two tables have in common
about_pane       versions
"""
