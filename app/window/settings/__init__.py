"""The page "Settings": every setting in one of five parts; a change applies at once, a wrong value says why.

page             the title and the choice of the part
setting_row      a field bound to one setting: writes it, follows it, shows why a value cannot be taken
device_pane      the devices (device_card), the race between them (race_card), the check of their numbers
                 (check_card, with every kernel in kernel_table)
work_pane        memory, how much of the machine is used, the watcher and the idle rules
completion_pane  delays and keys of the suggestions (key_field takes a key), and decoding_card: the precision
storage_pane     the theme, the data folder with its disk use (moved by move_part), the log; kept_part deletes what is
                 kept about the open repository
about_pane       versions
"""
