"""The page "Checkpoints": what was learned, kept; to be looked at, compared, merged, carried away and brought back.

    page             puts the parts together, tells the controller what the user wants
    commands         what the user wants, told to the controllers
    actions          what can be done with the selected ones: buttons, menu, keys
    list_card        the table and its filter, or the trash
    filters          which are shown
    table_model      rows, words, sorting;  table_view  how they are drawn;  cells  what all tables here share
    columns          how wide, and which of them are there
    notices          progress and what came of it, under the table
    trash_view       what was deleted
    importing        dialogs and drops
    detail_pane      the right side, by what is selected:
      facts_card       one checkpoint, its tags and its note
      card_text        the model card, options and files
      lineage_view     the tree around it;  family  which lines that is
      precision_table  what it would be in fewer bits
      drift_card       two of them;  drift_map  the map of heat
      curves           losses, of one or laid over each other; the only file that loads pyqtgraph;  marks  their colours
      merge_panel      a blend of two;  blend_plot  the losses of those that were tried
      export_panel     formats and places

All of it reads `Application.checkpoints` and asks it for things; nothing here knows a worker, a store or a tensor.
"""
