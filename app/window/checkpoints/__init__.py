"""The Checkpoints page: results of training, to be inspected, compared, merged, exported and restored.

    page             puts the parts together
    commands         user actions, passed to the controllers
    actions          what can be done with the selection: buttons, menu, keys
    list_card        the table and its filter, or the trash
    filters          which checkpoints are shown
    table_model      rows, text, sorting;  table_view  how they are drawn;  cells  what all tables here share
    columns          their widths, and which are shown
    notices          progress and results, under the table
    trash_view       deleted checkpoints
    importing        dialogs, drag and drop
    words            dates, losses and sizes as text
    detail_pane      the right side, depending on the selection:
      facts_card       one checkpoint with its tags and note
      card_text        the model card, options and files
      lineage_view     its family tree;  family  which lines that has
      precision_table  its size and loss in fewer bits
      drift_card       how two differ;  drift_map  the heat map
      curves           loss curves of one or several; the only file that loads pyqtgraph;  marks  their colours
      merge_panel      a blend of two;  blend_plot  the losses measured so far
      export_panel     format and destination;  recitation_part  what the weights recite

Everything here talks to `Application.checkpoints`; nothing knows a worker, a store or a tensor.
"""
